<?xml version="1.0" encoding="UTF-8"?>
<!-- SPDX-License-Identifier: GPL-2.0-or-later -->
<!-- What projects occupy on file systems (/page/storage, GET /v1/storage), with the time of each reading. All amounts of a row are in the
	units in which the project's storage was allotted, else limited. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
	xmlns:f="https://reeve.example/format" exclude-result-prefixes="f">

<!-- The amount whose units those of the row have. -->
<xsl:template match="item" mode="storage-units"><xsl:choose>
	<xsl:when test="@allotted_bytes"><xsl:value-of select="@allotted_bytes"/></xsl:when>
	<xsl:when test="@limit_bytes"><xsl:value-of select="@limit_bytes"/></xsl:when>
	<xsl:otherwise>0</xsl:otherwise>
</xsl:choose></xsl:template>

<xsl:template name="storage-amount">
	<xsl:param name="bytes"/>
	<xsl:variable name="like"><xsl:apply-templates select="." mode="storage-units"/></xsl:variable>
	<xsl:choose>
		<xsl:when test="$bytes != ''"><xsl:value-of select="f:bytes($bytes, $like)"/></xsl:when>
		<xsl:otherwise>-</xsl:otherwise>
	</xsl:choose>
</xsl:template>

<!-- "Storage: 10.0 TB allotted. /project: 4.20 TB used, read 2026-11-21 14:03": of a quota's account. -->
<xsl:template name="storage-note">
	<xsl:param name="account"/>
	<xsl:param name="allotted"/>
	<xsl:variable name="rows" select="/page/storage/storage/item[@account = $account]"/>
	<p class="note">Storage: <xsl:choose>
		<xsl:when test="$allotted"><xsl:value-of select="f:bytes($allotted, $allotted)"/> allotted. </xsl:when>
		<xsl:otherwise>none allotted here. </xsl:otherwise>
	</xsl:choose>
	<xsl:for-each select="$rows">
		<xsl:value-of select="@filesystem"/>: <xsl:call-template name="storage-amount"><xsl:with-param name="bytes" select="@bytes"/></xsl:call-template> used, read <time><xsl:value-of select="f:time(@at_ns)"/></time>. </xsl:for-each>
	<xsl:if test="not($rows)"><xsl:choose>
		<xsl:when test="/page/storage/@next">What it occupies stands on <a href="/web/quota?account={f:encode($account)}">the page of this project alone</a>.</xsl:when>
		<xsl:when test="/page/storage">No reading of what it occupies was imported.</xsl:when>
	</xsl:choose></xsl:if></p>
</xsl:template>

<xsl:template name="storage-table">
	<xsl:param name="rows"/>
	<section><h2>Storage</h2>
	<div class="scroll" tabindex="0" role="region" aria-label="Storage">
	<table>
		<thead><tr><th scope="col">Project</th><th scope="col">File system</th><th scope="col">Used</th><th scope="col" class="figure">Limit</th>
			<th scope="col" class="figure">Allotted</th><th scope="col" class="figure">Used of it</th><th scope="col" class="figure">Files</th><th scope="col">Read</th></tr></thead>
		<tbody><xsl:for-each select="$rows"><tr>
			<th scope="row" class="name"><xsl:value-of select="@account"/></th>
			<td><xsl:value-of select="@filesystem"/></td>
			<td><span class="pair"><xsl:call-template name="storage-amount"><xsl:with-param name="bytes" select="@bytes"/></xsl:call-template></span>
				<xsl:if test="@used_ppm"><xsl:call-template name="bar"><xsl:with-param name="part" select="@used_ppm"/><xsl:with-param name="whole" select="1000000"/></xsl:call-template></xsl:if></td>
			<td class="figure"><xsl:call-template name="storage-amount"><xsl:with-param name="bytes" select="@limit_bytes"/></xsl:call-template></td>
			<td class="figure"><xsl:call-template name="storage-amount"><xsl:with-param name="bytes" select="@allotted_bytes"/></xsl:call-template></td>
			<td class="figure"><xsl:choose>
				<xsl:when test="@used_ppm"><xsl:value-of select="f:percent(@used_ppm, 1000000)"/></xsl:when>
				<xsl:otherwise>-</xsl:otherwise>
			</xsl:choose></td>
			<td class="figure"><xsl:choose>
				<xsl:when test="@files"><xsl:value-of select="f:count(@files)"/></xsl:when>
				<xsl:otherwise>-</xsl:otherwise>
			</xsl:choose></td>
			<td><time><xsl:value-of select="f:time(@at_ns)"/></time></td>
		</tr></xsl:for-each></tbody>
	</table>
	</div>
	<p class="note">As operators imported it, at the time of each reading; "used of it" is of the limit, without one of what is allotted.
		<xsl:if test="/page/storage/@next"> There are more projects: name one to see its storage.</xsl:if></p>
	</section>
</xsl:template>
</xsl:stylesheet>
