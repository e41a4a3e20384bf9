<?xml version="1.0" encoding="UTF-8"?>
<!-- SPDX-License-Identifier: GPL-2.0-or-later -->
<!-- How the use of one job went, alone: of all its nodes, or of one of them. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
	xmlns:f="https://reeve.example/format" exclude-result-prefixes="f">
<xsl:import href="layout.xsl"/>
<xsl:import href="timeline.xsl"/>
<xsl:variable name="title">Job <xsl:value-of select="/page/series/@job"/>, use over time</xsl:variable>
<xsl:variable name="here">/web/jobs</xsl:variable>

<xsl:template name="content">
	<xsl:variable name="s" select="/page/series"/>
	<p><a href="/web/job/{$s/@job}">Job <xsl:value-of select="$s/@job"/></a><xsl:if test="/page/asked/@node">, node <xsl:value-of select="/page/asked/@node"/></xsl:if></p>
	<xsl:choose>
		<xsl:when test="$s/points/item"><xsl:call-template name="timeline-charts"><xsl:with-param name="s" select="$s"/></xsl:call-template></xsl:when>
		<xsl:otherwise><p class="none">No points: the job has not run, its node's agent sends none, or they were deleted with its events.</p></xsl:otherwise>
	</xsl:choose>
	<xsl:if test="count($s/nodes/item) &gt; 1">
		<h2>Of one node</h2>
		<ul><xsl:for-each select="$s/nodes/item"><li><a href="/web/series/{$s/@job}?node={f:encode(@node)}"><xsl:value-of select="@node"/></a>:
			<xsl:value-of select="f:duration(@cpu_s)"/> of CPU time in <xsl:value-of select="f:duration(@elapsed_s)"/></li></xsl:for-each></ul>
	</xsl:if>
</xsl:template>
</xsl:stylesheet>
