<?xml version="1.0" encoding="UTF-8"?>
<!-- SPDX-License-Identifier: GPL-2.0-or-later -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
<xsl:import href="layout.xsl"/>
<xsl:variable name="title"><xsl:choose>
	<xsl:when test="/page/@user">No such page</xsl:when>
	<xsl:when test="/page/question">Enter as <xsl:value-of select="/page/question/@user"/></xsl:when>
	<xsl:otherwise>Enter with a link</xsl:otherwise>
</xsl:choose></xsl:variable>

<xsl:template match="/page/error">
	<p class="error" role="alert"><xsl:value-of select="@message"/></p>
	<xsl:if test="not(/page/@user)"><xsl:call-template name="how"/></xsl:if>
</xsl:template>

<xsl:template name="content">
	<xsl:choose>
		<xsl:when test="question"><xsl:apply-templates select="question"/></xsl:when>
		<xsl:when test="not(@user)"><xsl:call-template name="how"/></xsl:when>
	</xsl:choose>
</xsl:template>

<xsl:template match="question">
	<p>The link that you opened shows the jobs and accounts of the user <strong><xsl:value-of select="@user"/></strong>. Enter if that is you.</p>
	<form method="post" action="/web/enter">
		<input type="hidden" name="ticket" value="{@ticket}"/>
		<button type="submit">Enter as <xsl:value-of select="@user"/></button>
	</form>
</xsl:template>

<xsl:template name="how">
	<p>On a machine of the cluster, where you submit jobs, type</p>
	<pre>reeve web</pre>
	<p>and open the link that it prints, then press "Enter". The link is for one use, within two minutes. There is no password.</p>
</xsl:template>
</xsl:stylesheet>
