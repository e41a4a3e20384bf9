<?xml version="1.0" encoding="UTF-8"?>
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
	xmlns:f="https://reeve.example/format" exclude-result-prefixes="f">
<xsl:import href="layout.xsl"/>
<xsl:variable name="title">Shares</xsl:variable>
<xsl:variable name="here">/web/share</xsl:variable>

<xsl:template name="content">
	<p>Each account has a share of the cluster. Usage counts against it and fades with time. Below a level fairshare of 1 an account
	has used more than its share of late, and its jobs come later; above 1 it has used less.</p>
	<div class="scroll" tabindex="0" role="region" aria-label="Shares">
	<table>
		<thead><tr><th scope="col">Account, user</th><th scope="col">Cluster</th><th scope="col">Pool</th>
			<th scope="col" class="figure">Shares</th><th scope="col" class="figure">Share of its level</th>
			<th scope="col">Usage of its level</th><th scope="col" class="figure">Level fairshare</th><th scope="col" class="figure">Fairshare</th></tr></thead>
		<tbody><xsl:apply-templates select="share/rows/item" mode="share"/></tbody>
	</table>
	</div>
</xsl:template>

<xsl:template match="item" mode="share">
	<tr>
		<xsl:if test="@user != '' and @user = /page/@user"><xsl:attribute name="class">own</xsl:attribute></xsl:if>
		<th scope="row" class="depth{@depth}"><xsl:choose>
			<xsl:when test="@user != ''"><xsl:value-of select="@user"/><xsl:if test="@user = /page/@user"> (you)</xsl:if></xsl:when>
			<xsl:otherwise><strong><xsl:value-of select="@account"/></strong></xsl:otherwise>
		</xsl:choose></th>
		<td><xsl:value-of select="@cluster"/></td><td><xsl:value-of select="@pool"/></td>
		<td class="figure"><xsl:choose>
			<xsl:when test="@RawShares = -1">parent</xsl:when>
			<xsl:otherwise><xsl:value-of select="@RawShares"/></xsl:otherwise>
		</xsl:choose></td>
		<td class="figure"><xsl:value-of select="f:percent(@NormShares, 1)"/></td>
		<td><span class="pair"><xsl:value-of select="f:percent(@EffectvUsage, 1)"/></span>
			<xsl:call-template name="bar"><xsl:with-param name="part" select="@EffectvUsage"/><xsl:with-param name="whole" select="1"/></xsl:call-template></td>
		<td class="figure"><xsl:choose>
			<xsl:when test="@LevelFS = 'inf'">no usage</xsl:when>
			<xsl:when test="@LevelFS"><xsl:value-of select="format-number(@LevelFS, '0.000')"/></xsl:when>
			<xsl:otherwise>-</xsl:otherwise>
		</xsl:choose></td>
		<td class="figure"><xsl:choose>
			<xsl:when test="@FairShare"><xsl:value-of select="format-number(@FairShare, '0.000')"/></xsl:when>
			<xsl:otherwise>-</xsl:otherwise>
		</xsl:choose></td>
	</tr>
</xsl:template>
</xsl:stylesheet>
